"""Parameters of operations of rows and drafts."""

from penchant.web.parameters import VERSION_SCHEMA, read_boolean, read_id, read_interaction_type
from penchant.web.query import Parameter, integer
from penchant.wire.times import parse_date
from penchant_engine.model import InteractionType

FORCE = Parameter(
    name="force",
    description="Publish also where what the draft edits has changed since it was written.",
    schema={"type": "boolean", "default": False},
    read=read_boolean,
    default=False,
)
REVISION = Parameter(
    name="revision",
    description="The `revision` of the draft that was looked at: 409 where it was written anew since. With the setting "
    "`fourEyes` of the source it has to be given for what puts something in force.",
    schema={"type": "string"},
)
USER = Parameter(
    name="user",
    description="The person whom the list is for; without it, for nobody, who sees the placement without variants.",
    schema={"type": "string"},
    read=read_id,
)
CONTENT = Parameter(
    name="content",
    description="The id of the piece beside which the list is shown: what a list of similar pieces is about.",
    schema={"type": "string"},
    read=read_id,
)
ROLLBACK_VERSION = Parameter(
    name="version",
    description="The version to return to; without it, the one before that in force.",
    schema=dict(VERSION_SCHEMA),
    read=lambda text: integer(text, least=1),
)
FROM = Parameter(
    name="from",
    description="The first UTC day; without it, the one on which the placement's version in force was stored.",
    schema={"type": "string", "format": "date"},
    read=parse_date,
)
TO = Parameter(
    name="to",
    description="The last UTC day; without it, today.",
    schema={"type": "string", "format": "date"},
    read=parse_date,
)
SUCCESS = Parameter(
    name="type",
    description="Which type of interaction counts as a success; without it, any but a dislike.",
    schema={"type": "string", "enum": list(InteractionType)},
    read=read_interaction_type,
)
BASE_VARIANT = Parameter(
    name="base",
    description="The variant from which others differ; without it, the placement itself (`base`).",
    schema={"type": "string", "default": "base"},
)
OF_CONTENT = Parameter(
    name="content",
    description="Adds what placements showed lately of the piece with this id.",
    schema={"type": "string"},
    read=read_id,
)
COURSES = Parameter(
    name="courses",
    description="`true` adds how the difference of each variant from the base has become what it is.",
    schema={"type": "boolean", "default": False},
    read=read_boolean,
    default=False,
)
