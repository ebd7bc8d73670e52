"""The options of a task, from the signature of what builds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Annotated, Any, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model

from vedette.config import nearest, plainly
from vedette.errors import InputError
from vedette.types import Json

from .forms import FORMS

RENAMED = {"calibrations": "thresholds", "format": "to"}
"""Parameters whose option has another name, as on the command line."""

_OR_NONE = " | None"


class BadOption(InputError):
    """An option that there is not, or a value that it cannot have. `place` names it."""

    def __init__(self, message: str, place: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.place = place


class Options:
    """The options that the parameters of `built_by` are, but for those that are `hidden`.

    `refused` are names of others that somebody may look for, with the reason. `words` describes
    each option.
    """

    def __init__(
        self,
        built_by: Callable[..., Any],
        *,
        hidden: frozenset[str] = frozenset(),
        refused: Mapping[str, str] | None = None,
        words: Mapping[str, str] | None = None,
    ) -> None:
        hints = get_type_hints(built_by)
        shown = [one for one in signature(built_by).parameters.values() if one.name not in hidden]
        self.parameters = {RENAMED.get(one.name, one.name): one.name for one in shown}
        self._refused = refused or {}
        self._inline = {
            option
            for option, one in zip(self.parameters, shown, strict=True)
            if _form_name(one) in FORMS
        }
        fields: dict[str, Any] = {
            f"at_{one.name}": _field(one, hints[one.name], option, (words or {}).get(option))
            for option, one in zip(self.parameters, shown, strict=True)
        }
        self._model: type[BaseModel] = create_model(
            "Options", __config__=ConfigDict(extra="forbid", strict=True), **fields
        )

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of an object with the options."""
        found: dict[str, Any] = _without_titles(self._model.model_json_schema())
        return {"type": "object", "properties": {}, **found}

    def read(self, given: Mapping[str, Json], beside: Sequence[str] = ()) -> dict[str, Any]:
        """The arguments for `built_by`, of what is given. Raises `BadOption`, `InputError`.

        `beside` are names that may stand beside these and are read by somebody else.
        """
        for name in given:
            self._check_known(name, beside)
        try:
            found = self._model.model_validate(dict(given))
        except ValidationError as error:
            raise self._bad(error, given) from error
        return {name[len("at_") :]: getattr(found, name) for name in found.model_fields_set}

    def _check_known(self, name: str, beside: Sequence[str]) -> None:
        if name in self.parameters:
            return
        if name in self._refused:
            raise BadOption(f"the option {name} is not for requests: {self._refused[name]}", name)
        valid = [*self.parameters, *beside]
        meant = nearest(name, valid)
        listed = f"there are {', '.join(valid)}" if valid else "there is none"
        hint = f"did you mean {meant}?" if meant else listed
        raise BadOption(f"there is no option {name!r}", name, hint=hint)

    def _bad(self, error: ValidationError, given: Mapping[str, Json]) -> BadOption:
        """The mistake that says most: of alternatives, the one that came furthest."""
        first = max(error.errors(include_url=False), key=lambda one: len(one["loc"]))
        option = str(first["loc"][0])
        if first["type"] == "missing" and len(first["loc"]) == 1:
            return BadOption(f"the option {option} is needed", option)
        if option in self._inline and isinstance(given.get(option), str):
            return BadOption(
                f"the option {option} is a text, and the value itself must be given",
                option,
                hint="no file of the server is read",
            )
        places = [str(one) for one in first["loc"] if isinstance(one, int)]
        place = ".".join([option, *places])
        problem = plainly(first["msg"])
        return BadOption(f"the option {place}: {problem}", place)


def _form_name(one: Parameter) -> str:
    return str(one.annotation).removesuffix(_OR_NONE)


def _field(one: Parameter, hint: Any, option: str, words: str | None) -> tuple[Any, Any]:
    """The type of a field, and what pydantic is told of it."""
    form = FORMS.get(_form_name(one))
    annotation = hint
    if form is not None:
        annotation = Annotated[form.json, AfterValidator(form.read)]
        if str(one.annotation).endswith(_OR_NONE):
            annotation = annotation | None
    told: dict[str, Any] = {"alias": option, "description": words}
    if one.default is Parameter.empty:
        return annotation, Field(**told)
    if isinstance(one.default, bool | int | float | str):
        return annotation, Field(one.default, **told)
    # Never looked at: what is not given is left to what builds the task.
    return annotation, Field(default_factory=lambda: None, **told)


def _without_titles(schema: Any) -> Any:
    """Without the names that pydantic makes up. A property called title is no text, and stays."""
    if isinstance(schema, list):
        return [_without_titles(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _without_titles(one)
        for name, one in schema.items()
        if not (name == "title" and isinstance(one, str))
    }
