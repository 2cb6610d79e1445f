"""Problems of operations of rows and drafts."""

from collections.abc import Mapping

from penchant.web.problems import ProblemKind

ROW_PROBLEMS: Mapping[str, ProblemKind] = {
    "unknown-placement": ProblemKind(
        404,
        "No such placement",
        "The source has no placement of this name, or keeps no such version of it. Names are compared exactly.",
    ),
    "unknown-draft": ProblemKind(
        404, "No such draft", "The source has no draft of this name. Names are compared exactly."
    ),
    "kind-not-installed": ProblemKind(
        409,
        "The kind of list is not installed",
        "The placement shows a kind of list of a package that is not installed any more. Install it and start the "
        "service again, or store the placement with another kind, or with a fallback.",
    ),
    "too-many-placements": ProblemKind(
        409, "Too many placements", "The source has as many placements as one may have. Delete one first."
    ),
    "placement-changed": ProblemKind(
        409,
        "The placement is being changed",
        "Others changed the placement at the same moment, again and again. Read it, and send your change once more.",
    ),
    "too-many-drafts": ProblemKind(
        409, "Too many drafts", "The source has as many open drafts as one may have. Publish or delete one first."
    ),
    "draft-changed": ProblemKind(
        409,
        "The draft was changed",
        "The draft is another revision than the one that the request names, or others changed it, or what it edits, at "
        "the same moment. Read it, look at what is new, and send your request once more with its revision.",
    ),
    "outdated-draft": ProblemKind(
        409,
        "What the draft edits has changed",
        "What the entries of `errors` name is no longer as it was when the draft was written, or was published if it "
        "is to be undone. Look at it, and write the draft anew, or publish it with force=true, which puts the draft in "
        "the place of what is there now. Undoing cannot be forced.",
    ),
    "four-eyes": ProblemKind(
        403,
        "Somebody else has to publish this",
        "The source has the setting fourEyes: its lists, settings and placements change by drafts alone, and who wrote "
        "one, alone or with others, since it was last published may not publish, schedule or undo it. Propose it, and "
        "have somebody else do that, with another key. The source itself is not deleted while the setting is on.",
    ),
    "wrong-draft-state": ProblemKind(
        409,
        "Not in this state of the draft",
        "What was asked for is not for a draft in its present state: only what is published can be undone, only what "
        "is proposed be accepted or sent back.",
    ),
}
