"""The description of the API is the one in the repository, and complete."""

import json
from typing import get_args

from attnscope import artifacts
from attnscope.analyses.views import VIEWS
from tools import openapi

FOUND = json.loads(openapi.described())


def test_the_file_is_up_to_date():
    written = openapi.FILE.read_text(encoding="utf-8")
    assert written == openapi.described(), "write it again: python -m tools.openapi"


def test_every_artifact_is_in_it_and_told_apart_by_its_kind():
    union = get_args(get_args(artifacts.Artifact)[0])
    mapping = FOUND["components"]["schemas"]["Artifact"]["discriminator"]["mapping"]
    assert set(mapping.values()) == {f"#/components/schemas/{kind.__name__}" for kind in union}
    for name, place in mapping.items():
        schema = FOUND["components"]["schemas"][place.rpartition("/")[2]]
        assert schema["properties"]["kind"]["const"] == name
        assert "kind" in schema["required"]


def test_every_view_has_its_address_and_its_own_request():
    for name, view in VIEWS.items():
        body = FOUND["paths"][f"/api/views/{name}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert body == {"$ref": f"#/components/schemas/{view.request.__name__}"}


def test_all_that_is_named_is_there_and_every_refusal_is_one_sentence():
    text = json.dumps(FOUND)
    names = {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert names <= set(FOUND["components"]["schemas"])
    assert "HTTPValidationError" not in text
    for path in FOUND["paths"].values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                if status >= "400":
                    schema = answer["content"]["application/json"]["schema"]
                    assert schema == {"$ref": "#/components/schemas/Problem"}
