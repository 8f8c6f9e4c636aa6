"""Shapes of what the SDK takes and gives."""

from __future__ import annotations

from typing import Any, Callable, Literal, TypedDict, Union

#: A JSON object, as the REST interface describes it in `/openapi.json`.
JsonObject = dict[str, Any]

Rating = Literal["positive", "negative"]
EndStatus = Literal["ended", "abandoned"]


class Person(TypedDict, total=False):
    """Who talks to the agent, with the names of the REST interface. `external_id` is your own id of the person."""

    external_id: str
    display_name: str
    username: str
    email: str
    company_external_id: str
    boundary: Literal["external", "internal"]
    #: Deprecated: `external_id`.
    id: str
    #: Deprecated: `display_name`.
    name: str
    #: Deprecated: `company_external_id`.
    company: str


class Context(TypedDict, total=False):
    """Where in the product the conversation takes place."""

    product_area: str
    surface: str
    route_template: str
    pathname: str
    entry_point: str
    entity_type: str
    entity_id: str
    environment: str
    release: str
    properties: dict[str, Any]


class Stats(TypedDict):
    """Counts since the start of the process."""

    #: Events that wait or are on their way.
    queued: int
    #: Events that the service has stored.
    sent: int
    #: Events lost because the queue was full or the client was closed.
    dropped: int
    #: Events that the service refused, or that could not be made.
    failed: int
    #: Requests that were sent again.
    retried: int


OnError = Callable[[Exception], None]
Redact = Callable[[str], str]
PersonLike = Union[str, int, Person, dict[str, Any], None]
ContextLike = Union[Context, dict[str, Any], None]
