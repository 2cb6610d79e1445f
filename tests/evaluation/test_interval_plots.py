"""Plots of intervals: well-formed, escaped, and to scale."""

from defusedxml.ElementTree import fromstring

from penchant_lab.interval_plots import WIDTH, IntervalPanel, draw_intervals

SVG = "{http://www.w3.org/2000/svg}"


def test_dots_lie_where_their_means_are_and_names_are_escaped() -> None:
    rows = {"<b>&": (0.2, 0.1, 0.4), "penchant": (0.1, 0.05, 0.15)}

    drawn = fromstring(draw_intervals("Set & split", [IntervalPanel("NDCG@10", rows)], "penchant"))

    one, other = (float(dot.get("cx", "")) for dot in drawn.iter(f"{SVG}circle"))
    assert round(one - other, 1) == WIDTH / 4
    assert "<b>&" in [text.text for text in drawn.iter(f"{SVG}text")]


def test_panels_without_rows_are_left_out_and_zeros_drawn() -> None:
    panels = [IntervalPanel("none", {}), IntervalPanel("zero", {"a": (0.0, 0.0, 0.0)})]

    texts = [text.text for text in fromstring(draw_intervals("t", panels, "a")).iter(f"{SVG}text")]

    assert "none" not in texts
    assert "0.000 [0.000, 0.000]" in texts
