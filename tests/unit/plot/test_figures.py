import io
import itertools
import threading

import numpy as np
import pytest
import xarray as xr
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg

from attnscope.errors import InputError
from attnscope.plot import lettering, palette
from attnscope.plot.curves import curve_figure, spread
from attnscope.plot.files import free_name, save_figure
from attnscope.plot.maps import map_figure, maps_of
from attnscope.plot.overview import overview_figure
from attnscope.plot.shares import by_category, received, row_shares

SHORT = ["[CLS]", "good", "film", ".", "[SEP]"]
STRANGE = ["日本", "語", "$x$", "$", "_^{", "\n", "", "🎉", "שלום", "Donaudampfschifffahrtsgesellschaft", "\x1b[1m"]


@pytest.fixture
def shares():
    values = np.array([[[0.2, 0.3], [0.1, 0.0], [0.7, 0.7]], [[0.02, 0.02], [0.02, 0.02], [0.96, 0.96]]])
    coordinates = {"layer": [1, 2], "category": ["[CLS]", "[SEP]", "other"]}
    return xr.Dataset(
        {name: (("category", "layer"), v) for name, v in zip(("weight", "attention_norm"), values, strict=True)},
        coordinates,
    )


def drawn(figure):
    """The figure's labels as they stand on the page, after drawing it."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


@pytest.mark.parametrize("tokens", [["one"], SHORT, SHORT * 2 + ["ab"], STRANGE, SHORT * 12, SHORT * 60])
def test_tick_labels_never_overlap(result, tokens):
    figure = map_figure(result(tokens), layer=1)
    renderer = drawn(figure)
    for ax in figure.axes[:2]:
        for axis in (ax.xaxis, ax.yaxis):
            labels = [label for label in axis.get_ticklabels() if label.get_text()]
            boxes = [label.get_window_extent(renderer) for label in labels]
            starts = sorted((b.x0, b.x1) if axis is ax.xaxis else (b.y0, b.y1) for b in boxes)
            assert all(end <= start + 1 for (_, end), (start, _) in itertools.pairwise(starts))


def test_labels_lie_on_the_page(result):
    figure = map_figure(result(STRANGE), layer=1, title="日本語の題")
    renderer = drawn(figure)
    page = figure.bbox
    for ax in figure.axes[:2]:
        for label in (*ax.get_xticklabels(), *ax.get_yticklabels(), ax.title):
            box = label.get_window_extent(renderer)
            assert box.x0 >= page.x0 - 1
            assert box.y0 >= page.y0 - 1
            assert box.x1 <= page.x1 + 1


def test_maps_are_shares_of_rows(result):
    maps = maps_of(result(SHORT), ("weight", "attention_norm"), layer=2)
    for one in maps.maps:
        np.testing.assert_allclose(one.values.sum(1), 1)
    head = maps_of(result(SHORT), ("weight",), layer=2, head=3).maps[0]
    np.testing.assert_allclose(head.values, result(SHORT)["weight"].values[1, 2])


def test_without_a_layer_the_map_is_the_mean_over_layers(result):
    layers = [maps_of(result(SHORT), ["attention_norm"], layer=layer).maps[0].values for layer in (1, 2)]
    np.testing.assert_allclose(maps_of(result(SHORT), ["attention_norm"]).maps[0].values, np.mean(layers, 0))


def test_what_is_no_map_is_refused(result):
    with pytest.raises(InputError, match="no map called 'value_norm'"):
        map_figure(result(SHORT), ["value_norm"], layer=1)
    with pytest.raises(InputError, match="no map called 'wait'"):
        map_figure(result(SHORT), ["wait"], layer=1)
    with pytest.raises(InputError, match="no layer 7"):
        map_figure(result(SHORT), layer=7)


def test_a_row_of_nothing_is_no_error(result):
    data = result(SHORT)
    data["attention_norm"][0, 1] = 0
    assert maps_of(data, ["attention_norm"], layer=1).maps[0].values[1].sum() == 0
    drawn(map_figure(data, layer=1))


def test_names_of_lines_do_not_overlap(shares):
    figure = curve_figure(shares, title="Curves", subtitle="of two layers")
    renderer = drawn(figure)
    for ax in figure.axes:
        boxes = sorted((t.get_window_extent(renderer) for t in ax.texts), key=lambda box: box.y0)
        assert len(boxes) == 3
        assert all(below.y1 <= above.y0 + 2 for below, above in itertools.pairwise(boxes))


def test_labels_are_spread_as_little_as_need_be():
    np.testing.assert_allclose(spread(np.array([0.5, 0.1]), 0.05), [0.5, 0.1])
    moved = spread(np.array([0.02, 0.0, 0.03, 0.9, 0.9]), 0.05)
    assert np.diff(np.sort(moved)).min() >= 0.05 - 1e-9
    assert moved.min() >= 0
    assert list(np.argsort(moved[:3])) == [1, 0, 2]
    assert spread(np.array([]), 0.05).size == 0


@pytest.mark.parametrize("suffix", [".png", ".svg", ".pdf"])
def test_figures_in_files(result, shares, tmp_path, suffix):
    path = tmp_path / f"figure{suffix}"
    save_figure(overview_figure(result(SHORT), shares, layer=1, texts=3), path, dpi=50)
    assert path.stat().st_size > 1000
    with pytest.raises(InputError, match="there already"):
        save_figure(map_figure(result(SHORT), layer=1), path)
    assert free_name(path) == tmp_path / f"figure-2{suffix}"
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_figures_may_be_drawn_in_threads(result):
    pages = []
    data = result(SHORT)

    def draw():
        page = io.BytesIO()
        figure = map_figure(data, layer=1)
        FigureCanvasAgg(figure)
        figure.savefig(page, dpi=40)
        pages.append(page.getvalue())

    threads = [threading.Thread(target=draw) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pages) == 3
    assert len(set(pages)) == 1


def test_letters_that_no_font_has_become_boxes():
    shown = lettering.tick_label("a\U000e0fff")
    assert shown == "a" + lettering.UNKNOWN
    assert lettering.lost(["a\U000e0fff"])
    assert not lettering.lost(["abc", "[CLS]", "##ing", "\n", ""])
    assert lettering.numbered(["a", "▯▯", "▯"]) == ["a", "2 ▯", "3 ▯"]
    assert lettering.shortened("abcdefgh", 5) == "abcd…"


def lightness(colour):
    """CIE L* of an sRGB colour."""
    linear = np.where(colour <= 0.04045, colour / 12.92, ((colour + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    return 116 * np.cbrt(luminance) - 16


def test_the_scale_of_amounts_darkens_evenly():
    steps = np.diff([lightness(np.array(palette.amounts()(x)[:3])) for x in np.linspace(0, 1, 6)])
    assert (steps < 0).all()
    assert steps.min() / steps.max() < 1.45
    assert "amounts" not in colormaps


def test_shares(result):
    data = result(SHORT)
    assert float(received(data["weight"]).sum()) == pytest.approx(1)
    xr.testing.assert_allclose(received(data["weight"]), received(data["weight"].mean("query")))
    xr.testing.assert_allclose(received(data["weight"]), data["weight"].mean(("layer", "head", "query")))
    np.testing.assert_allclose(row_shares(data["attention_norm"]).sum("key"), 1)
    counted = xr.DataArray(np.ones((2, 3, 4)), dims=("layer", "head", "category"))
    np.testing.assert_allclose(by_category(counted), 0.25)
