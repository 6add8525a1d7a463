"""How to read each chart of a report, in words beside it; a chart that is not here does not get drawn (a test sees to it)."""

from __future__ import annotations

from collections.abc import Mapping

HOW_TO_READ: Mapping[str, str] = {
    "distribution": (
        "Each bar is a class of relative changes, as a share of its group's cells. Sensitive cells must lie to the right, at or "
        "beyond their levels. The rest should stand at the left: what they show further right is the price of protection."
    ),
    "ecdf": (
        "Follow a curve to the right: its height is the share of cells that changed by no more than that. A curve that starts "
        "high belongs to a group of which most cells were not touched. The scale is logarithmic: one mark is ten times the one "
        "before."
    ),
    "levels": (
        "As above, one curve for each level of aggregation; 0 is the grand total. Curves of totals should lie above and left of "
        "those of details: the change is then hidden where it hurts least."
    ),
    "balance": (
        "Cells moved up stand to the right, cells moved down to the left. About as many on both sides is usual. Where nearly "
        "all go one way, totals drift that way too: see whether bounds or zeros leave them no choice."
    ),
    "amounts": (
        "The same, by how much. The two sides of all cells together need not be equal; a large surplus on one side moves the totals."
    ),
    "trace": (
        "The upper line is the best safe table so far, the lower one the bound below which none can lie. The distance between "
        "them at the end is the gap. An upper line that has been flat for long says that more time would hardly help."
    ),
    "measures": (
        "Each dot compares released with true values over a set of cells. One means that nothing was lost; the further from "
        "one, the more a user's analysis of these cells would differ."
    ),
    "sizes": (
        "Each dot is a cell: its size to the right, its relative change upwards. Large cells should lie at the bottom. Dots "
        "high up at the left are small cells, whose percentages are large although little was moved."
    ),
    "front": (
        "Each point is a table or file that could be released; none of them is better in both respects than another. Where the "
        "curve is steep, a little more of one saves much of the other; where it has become flat, nothing is gained by going on."
    ),
    "statistics": (
        "Each line is a statistic of the released table along the front. Take the first point from which the ones you need stay "
        "close to their true values."
    ),
    "caps": (
        "How far the cell that moves most moves, at each point of the front. A high end says that statistics are kept at the "
        "price of a few cells."
    ),
    "unsafe": (
        "Bars are records in unsafe combinations of one field, of two, and so on. After protection there must be none under the "
        "rule that was asked for; what is left under stricter rules is told in the table beside."
    ),
    "blanks": (
        "How many values of each field are blank in the safe file. A field that stands out would better be recoded one step "
        "more coarsely: force that step and compare what is lost."
    ),
    "field": (
        "Shares of the values before and after. Bars of the same length mean that a user who counts this field sees what is "
        "true; a value that is shorter after protection lost records to blanks."
    ),
    "mosaic_before": (
        "Widths are shares of the first field, heights shares of the second within it. Compare with the picture beside it, "
        "column by column."
    ),
    "mosaic_after": "Where a column keeps its stripes, the relation between the two fields is kept for that value.",
    "methods": (
        "Each point is a method: what is lost to the right, what is disclosed upwards. Lower and further left is better. A "
        "method that has another one below and left of it has nothing to say for it here."
    ),
    "curve": (
        "Each point is a threshold: what a file keeps upwards, how many of its records an intruder would find again to the "
        "right. Begin at the risk that your rules allow, and go straight up to the curve."
    ),
}


def how_to_read(name: str) -> str:
    """In words; charts of single fields share theirs."""
    return HOW_TO_READ.get(name, HOW_TO_READ["field"] if name.startswith("field") else "")
