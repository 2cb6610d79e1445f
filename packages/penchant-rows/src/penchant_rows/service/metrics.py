"""Metrics of rows and drafts."""

from penchant.telemetry import Metrics


class RowMetrics:
    """What is counted of placements, what was seen of them, and drafts."""

    def __init__(self, metrics: Metrics) -> None:
        counter = metrics.counter
        self.drafts_due = counter("penchant_drafts_due", "Scheduled drafts: published, failed.", "outcome")
        self.impressions_recorded = counter("penchant_impressions_recorded", "Pieces of lists stored as seen.")
        self.impressions_beyond = counter(
            "penchant_impressions_beyond",
            "Pieces of lists not stored as seen, beyond what counts of a person, or of lists for nobody, on a day.",
        )
        self.placement_lists = counter(
            "penchant_placement_lists", "Lists of placements: listed, filled up (filled), empty.", "kind", "outcome"
        )
        self.stopped_lists = counter("penchant_stopped_lists", "Lists instead of worse variants.")
