"""Which schemas a side takes, and how its grammar judges instances: no answers are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vedette.errors import InputError
from vedette.types import Json

from .constrained_suite import SchemaCase

Accepts = Callable[[Json], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """How schemas are taken and instances judged.

    `refused` has the reason for each schema that is not accepted. A false accept is an invalid
    instance that could be an answer, a false reject a valid one that could not, its members in
    the grammar's order.
    """

    schemas: int
    accepted: int
    refused: dict[str, str]
    instances: int
    false_accepts: tuple[str, ...]
    false_rejects: tuple[str, ...]


def match(cases: Sequence[SchemaCase], taken: Callable[[SchemaCase], Accepts]) -> Matching:
    """Hold every instance against what `taken` makes of its schema.

    It raises `InputError` for a schema that the side does not accept.
    """
    refused: dict[str, str] = {}
    wrong: dict[bool, list[str]] = {True: [], False: []}
    n_instances = 0
    for case in cases:
        try:
            accepts = taken(case)
        except InputError as error:
            refused[case.name] = str(error)
            continue
        for number, instance in enumerate(case.instances, 1):
            n_instances += 1
            if accepts(instance.value) != instance.valid:
                wrong[instance.valid].append(f"{case.name}, test {number}")
    return Matching(
        schemas=len(cases),
        accepted=len(cases) - len(refused),
        refused=refused,
        instances=n_instances,
        false_accepts=tuple(wrong[False]),
        false_rejects=tuple(wrong[True]),
    )
