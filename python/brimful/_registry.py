"""Classes that scenarios name behind `python:`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from brimful._core import ScenarioError

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type[Any])


class Registry(Generic[F]):
    """What is registered for every run of this process, by name."""

    def __init__(self, argument: str, base: type, example: str) -> None:
        """`argument` is where a run is given more; `example` is a name as a scenario has it."""
        self._argument = argument
        self._base = base
        self._example = example
        self._registered: dict[str, F] = {}

    def register(self, name: str) -> Callable[[C], C]:
        """Registers a class."""
        self._check_name(name)

        def decorate(cls: C) -> C:
            self._check_class(name, cls)
            self._registered[name] = cast("F", cls)
            return cls

        return decorate

    def with_(self, given: Mapping[str, F] | None) -> dict[str, F]:
        """The registered ones and those of a run, which go first."""
        for name, factory in (given or {}).items():
            self._check_name(name)
            self._check_class(name, factory)
        return {**self._registered, **(given or {})}

    def _check_name(self, name: object) -> None:
        if not isinstance(name, str) or not name or name.startswith("python:"):
            raise ScenarioError(
                f'{self._argument}: {name!r} is no name; give "mine" and use {self._example}'
            )

    def _check_class(self, name: str, factory: object) -> None:
        """A class of the base, or some other callable."""
        is_foreign = isinstance(factory, type) and not issubclass(factory, self._base)
        if is_foreign or not callable(factory):
            raise ScenarioError(
                f"{self._argument}: {name}: {factory!r} is no class derived from {self._base.__name__}"
            )
