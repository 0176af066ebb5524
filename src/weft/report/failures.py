# SPDX-License-Identifier: BSD-3-Clause
"""The failures of single cables: claims, card, table and JSON of ``weft route failures``."""

from typing import Any

from weft.analyse.tables.claims import ClaimRow, extras, make_claim
from weft.fabric.nodeset import fold_for_people
from weft.format import format_factor, plural, times_text
from weft.report.tabular import Table, Words
from weft.route.given import Failure, Failures
from weft.store.tables import grouped
from weft.words.card import Card, say

SHOWN, EVEN = 10, 0.005  # rows; a factor off 1 that prints as 1


def claim_failures(found: Failures, bound: tuple[float, str], file: str) -> list[ClaimRow]:
    """What cuts off hosts, what slows most; ``bound``: of the time after that, and its cut; ``file``: as users say."""
    claims: list[ClaimRow] = []
    cuts, whole = ([each for each in found.each if bool(each.lost) is lost] for lost in (True, False))
    if cuts:
        first = cuts[0]
        more: dict[str, Any] = {"hosts": list(first.cut), "pairs": first.lost, "alike": len(cuts) - 1}
        claims.append(make_claim("failure.cuts-off", "answer", first.name, len(first.cut), "count", **more))
    if (worst := slowest_failure(found)) is None or found.factor(worst) <= 1 + EVEN:
        return claims or [make_claim("failure.harmless", "answer", cables=len(found.each))]
    alike = sum(abs(each.time - worst.time) <= EVEN * worst.time for each in whole) - 1
    claims.append(make_claim("failure.slows", "answer", worst.name, found.factor(worst), "factor", alike=alike))
    next = f'weft route fix {file} --fail "{worst.name}"'
    best = max(1.0, bound[0] / found.present)
    return [*claims, make_claim("failure.bound", "breakdown", worst.name, best, "factor", cut=bound[1], next=next)]


def slowest_failure(found: Failures) -> Failure | None:
    """The failure that slows an all-to-all most without cutting off a host; None if each does."""
    return max((each for each in found.each if not each.lost), key=lambda each: each.time, default=None)


def failures_card(found: Failures, claims: list[ClaimRow], title: str) -> Card:
    """The card of all failures."""
    left_out = f"{plural(found.loose, 'host')} without a cable" if found.loose else ""
    lost = f"{plural(found.lost, 'pair')} without a route" if found.lost else ""
    facts = (plural(len(found.each), "cable"), f"all-to-all {times_text(found.present)} now", lost, left_out)
    return Card(f"failures of {title}", tuple(filter(None, facts)), tuple(say(each) for each in claims))


def failures_table(found: Failures) -> Table:
    """The worst failures, those alike in one row."""
    alike = list(grouped(found.each, lambda each: (each.lost, round(each.time, 3), each.levels)).values())
    rows: list[tuple[str, ...]] = []
    for group in alike[:SHOWN]:
        first, more = group[0], f" and {len(group) - 1:,} more" if len(group) > 1 else ""
        cut = fold_for_people(first.cut) if first.cut else plural(first.lost, "pair")
        ends = ("", cut) if first.lost else (f"{format_factor(found.factor(first))}x", first.slowest)
        rows.append((first.name + more, ends[0], f"{first.moved:,}", f"{first.changes:,}", ends[1]))
    columns = (Words("cable"), "all-to-all", "pairs moved", "entries changed", Words("slowest link, or cut off"))
    left = sum(map(len, alike[SHOWN:]))
    return Table(f"Worst first{f'; {left:,} cables below, in --format json' if left else ''}", columns, tuple(rows))


def failures_tree(found: Failures, claims: list[ClaimRow], title: str) -> dict[str, Any]:
    """All failures for JSON (schema ``weft-route-failures/1``)."""
    return {
        "schema": "weft-route-failures/1", "fabric": title, "present": found.present,
        "pairs_without_route": found.lost, "hosts_without_cable": found.loose,
        "hosts_with_one_cable": found.single, "claims": [{**each, "more": extras(each)} for each in claims],
        "failures": [
            {
                "cable": each.name, "levels": each.levels, "all_to_all": each.time, "factor": found.factor(each),
                "slowest": each.slowest, "pairs_without_route": each.lost, "hosts_cut_off": each.cut,
                "pairs_moved": each.moved, "entries_changed": each.changes,
            }
            for each in found.each
        ],
    }  # fmt: skip
