"""The schemas of what the program writes (docs/schemas)."""

import functools
import json

import jsonschema

from rankwire import SOURCE


@functools.cache
def schema(name):
    text = json.loads((SOURCE / f"docs/schemas/{name}.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(text)
    return jsonschema.Draft202012Validator(text)


def schema_errors(name, document):
    """A text for each place of the document that is not as the schema has it."""
    return [f"{list(error.path)}: {error.message[:200]}" for error in schema(name).iter_errors(document)]
