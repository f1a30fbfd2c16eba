"""Turns results into ratios, verdicts on the targets, and a table for the terminal."""

import dataclasses

MIB = 2**20
MICRO = 1e-6

# What the product promises, as (what, path to our figure, the most it may be, unit).
LIMITS = [
    ("peak memory, streaming down", ("down", "peak_bytes"), 64 * MIB, MIB, "MiB"),
    ("peak memory, streaming up", ("up", "peak_bytes"), 64 * MIB, MIB, "MiB"),
    ("memory, idle connections", ("idle_connections_bytes",), 64 * MIB, MIB, "MiB"),
    ("start to ready", ("ready_seconds",), 0.050, 1e-3, "ms"),
    ("memory, idle", ("idle_bytes",), 16 * MIB, MIB, "MiB"),
    ("binary, stripped", ("binary_bytes",), 20_000_000, 1e6, "MB"),
]
RATIO_LIMITS = {"nginx": 0.9, "envoy": 0.2}


@dataclasses.dataclass
class Verdict:
    what: str
    measured: float
    limit: float
    unit: str
    holds: bool


def look(results: dict, name: str, path: tuple) -> float | None:
    value = results.get(name)
    for key in path:
        value = value.get(key) if value else None
    return value


def ratios(results: dict) -> dict[str, dict[str, float]]:
    """Ours over each other, medians over medians; smaller is better for ours, but in per_second."""
    kept: dict[str, dict[str, float]] = {}
    for figure in ("processor", "user", "system", "per_second", "p50", "p99"):
        ours = look(results, "ours", ("load", figure))
        for name in results:
            theirs = look(results, name, ("load", figure))
            if name != "ours" and ours is not None and theirs:
                kept.setdefault(name, {})[figure] = ours / theirs
    return kept


def verdicts(results: dict) -> list[Verdict]:
    kept = []
    for name, limit in RATIO_LIMITS.items():
        ratio = ratios(results).get(name, {}).get("processor")
        if ratio is not None:
            what = f"processor time per request, of {name}'s"
            kept.append(Verdict(what, ratio, limit, "", ratio <= limit))
    for what, path, limit, unit, label in LIMITS:
        measured = look(results, "ours", path)
        if measured is not None:
            kept.append(Verdict(what, measured / unit, limit / unit, label, measured <= limit))
    return kept


COLUMNS = [
    ("CPU/req µs", ("load", "processor"), MICRO, 1),
    ("user", ("load", "user"), MICRO, 1),
    ("system", ("load", "system"), MICRO, 1),
    ("req/s", ("load", "per_second"), 1, 0),
    ("p50 ms", ("load", "p50"), 1e-3, 2),
    ("p99 ms", ("load", "p99"), 1e-3, 2),
    ("RSS MiB", ("load", "resident_bytes"), MIB, 1),
]
MORE_COLUMNS = [
    ("down s/GiB", ("down", "processor_per_gib"), 1, 2),
    ("peak MiB", ("down", "peak_bytes"), MIB, 1),
    ("up s/GiB", ("up", "processor_per_gib"), 1, 2),
    ("peak MiB", ("up", "peak_bytes"), MIB, 1),
    ("held MiB", ("idle_connections_bytes",), MIB, 1),
    ("ready ms", ("ready_seconds",), 1e-3, 1),
    ("byte ms", ("first_byte_seconds",), 1e-3, 1),
    ("idle MiB", ("idle_bytes",), MIB, 1),
]


def text(document: dict, judged: list[Verdict]) -> str:
    results, settings, machine = (document[key] for key in ("proxies", "settings", "machine"))
    load_average = " ".join(f"{value:.1f}" for value in machine["load_average"])
    lines = [
        "",
        f"{machine['processor']}, {machine['cores']} cores, load average {load_average}",
        "",
        f"{settings['connections']} keep-alive connections, one worker each; medians of "
        f"{settings['rounds']} interleaved rounds of {settings['seconds']} s",
        *table(results, COLUMNS, document["ratios"]),
        "",
        f"Streams of {settings['stream_bytes'] / 2**30:g} GiB (processor time per GiB, peak "
        f"memory), {settings['idle']} idle connections (memory held), start",
        *table(results, MORE_COLUMNS),
    ]
    if judged:
        lines += ["", "Targets"]
        lines += [
            f"  {'holds ' if v.holds else 'MISSED'}  {v.what}: {v.measured:.2f} {v.unit}"
            f" (at most {v.limit:g})"
            for v in judged
        ]
    for name, result in results.items():
        lines += [f"trouble with {name}: {trouble}" for trouble in result.get("troubles", [])]
    return "\n".join(lines)


def table(results: dict, columns: list, compared: dict | None = None) -> list[str]:
    head = ["", *(title for title, *_ in columns)]
    if compared:
        head.append("ours/it")
    rows = [head]
    for name, result in results.items():
        row = [f"{name} {result.get('version', '')}"]
        for _, path, unit, digits in columns:
            value = look(results, name, path)
            row.append("–" if value is None else f"{value / unit:.{digits}f}")
        if compared:
            ratio = compared.get(name, {}).get("processor")
            row.append("" if ratio is None else f"{ratio:.2f}")
        rows.append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return [
        "  "
        + "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]
