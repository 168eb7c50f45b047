"""Series for expressions at hand: whatever their selectors ask for, two of each, that differ in what the matchers leave open.

A tree is what /api/v1/parse_query gives. Labels an expression groups or joins by are on all its series, so that both sides of a join
meet; names ending in _total, _count, _sum, _bucket, and what a counter function reads, are counters (every third one with a reset),
names in _bucket have their bounds, names in _info are 1, all others are gauges.
"""
import re
import re._parser as parser
import zlib

END_MS = 1_700_006_400_000
INTERVAL_MS, SAMPLES = 60_000, 31
LE = ["0.1", "0.5", "1", "+Inf"]
COUNTER_FUNCTIONS = {"rate", "increase", "irate", "resets"}


def _text(tokens, last):
    """A text that the parsed pattern matches: of alternatives the first, or the last; of repetitions one at least."""
    out = ""
    for op, arg in tokens:
        name = str(op)
        if name == "LITERAL":
            out += chr(arg)
        elif name in ("ANY", "NOT_LITERAL"):
            out += "v" if arg != ord("v") else "w"
        elif name == "IN":
            out += _of_class(arg)
        elif name == "BRANCH":
            out += _text(arg[1][-1 if last else 0], last)
        elif name == "SUBPATTERN":
            out += _text(arg[3], last)
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            out += _text(arg[2], last) * max(arg[0], 1)
    return out


def _of_class(items):
    first, kind = items[0][1], str(items[0][0])
    if kind == "NEGATE":
        return next((c for c in "vw0-_. " if re.match(_class_pattern(items), c)), "~")
    if kind == "RANGE":
        return chr(first[0])
    return chr(first) if kind == "LITERAL" else {"CATEGORY_DIGIT": "0", "CATEGORY_SPACE": " "}.get(str(first), "v")


def _class_pattern(items):
    body = "".join(re.escape(chr(arg)) if str(op) == "LITERAL" else f"{re.escape(chr(arg[0]))}-{re.escape(chr(arg[1]))}"
                   for op, arg in items if str(op) in ("LITERAL", "RANGE"))
    return f"[^{body}]" if body else "."


def matching(pattern, last):
    """A value that the regular expression matches; None where none was found."""
    try:
        text = _text(parser.parse(pattern), last)
        return text if re.fullmatch(pattern, text, re.DOTALL) else None
    except (re.error, RecursionError):
        return None


def _admits(matcher, value):
    kind, wanted = matcher["type"], matcher["value"]
    try:
        found = value == wanted if kind in ("=", "!=") else re.fullmatch(wanted, value, re.DOTALL) is not None
    except re.error:
        found = False
    return found == (kind in ("=", "=~"))


def _value(name, matchers, which, free):
    """One that all matchers of the label admit, if there is one."""
    candidates = [m["value"] for m in matchers if m["type"] == "="]
    candidates += [text for m in matchers if m["type"] == "=~" for last in (which, not which) if (text := matching(m["value"], last)) is not None]
    candidates += [free, f"{name}-{which}", "v", "1", ""]
    return next((c for c in candidates if all(_admits(m, c) for m in matchers)), None)


class Dataset:
    def __init__(self):
        self.kinds = {}  # labels -> whether a counter

    def add(self, tree):
        labels, selectors = set(), []
        self._walk(tree, False, labels, selectors)
        for matchers, counter in selectors:
            for which in (0, 1):
                self._series(matchers, labels - {"le", "__name__"}, which, counter)

    def _walk(self, node, counter, labels, selectors):
        if not isinstance(node, dict):
            return
        if node.get("type") in ("vectorSelector", "matrixSelector"):
            selectors.append((node["matchers"], counter))
        if node.get("type") == "call":
            counter = node["func"]["name"] in COUNTER_FUNCTIONS
        if node.get("type") == "aggregation" and not node["without"]:
            labels.update(node["grouping"] or [])
        match = node.get("matching")
        if match:
            labels.update((match["labels"] or []) if match["on"] else [])
            labels.update(match["include"] or [])
        for child in [node.get(key) for key in ("expr", "lhs", "rhs", "param")] + (node.get("args") or []):
            self._walk(child, counter, labels, selectors)

    def _series(self, matchers, grouped, which, counter):
        by_name = {}
        for m in matchers:
            by_name.setdefault(m["name"], []).append(m)
        labels = {}
        for name in grouped | {"instance", "job"} | by_name.keys():
            # Alike for every selector, so that joins meet.
            value = _value(name, by_name.get(name, []), which, "j" if name == "job" else f"{name}-{which}")
            if value is None:
                return  # its matchers contradict each other
            labels[name] = value
        labels.setdefault("__name__", "nameless")
        if not labels["__name__"]:
            return
        counter = counter or labels["__name__"].endswith(("_total", "_count", "_sum", "_bucket"))
        for le in LE if labels["__name__"].endswith("_bucket") and "le" not in by_name else [None]:
            key = tuple(sorted((k, v) for k, v in {**labels, **({"le": le} if le else {})}.items() if v))
            self.kinds[key] = self.kinds.get(key) or counter

    def series(self):
        return [(dict(key), list(_samples(dict(key), counter))) for key, counter in sorted(self.kinds.items())]


def _samples(labels, counter):
    # The buckets of a histogram have one seed, and grow with their bounds.
    seed = zlib.crc32(repr(sorted((k, v) for k, v in labels.items() if k != "le")).encode())
    height = LE.index(labels["le"]) + 1 if labels.get("le") in LE else 1
    value, step, reset = float(seed % 50 * height), (seed % 7 + 1) * height, SAMPLES // 2 if seed % 3 == 0 else -1
    for k in range(SAMPLES):
        if labels["__name__"].endswith("_info"):
            value = 1.0
        elif counter:
            value = float(step if k == reset else value + step)
        else:
            value = float((seed >> k % 16) % 97) / 4
        yield END_MS - (SAMPLES - 1 - k) * INTERVAL_MS, value
