"""The data set of the differential test: every kind of series that a query can meet, from one seed.

Times are fixed (2023), so that a seed gives the same data on every day. Samples are handed out in rounds of event time, as
senders would: a round holds the new samples of one minute, some samples again (a second replica), and late ones.
"""
import math
import random

from harness import STALE

START_MS = 1_700_000_040_000  # on a whole minute
SPAN_MS = 100 * 60_000
END_MS = START_MS + SPAN_MS
ROUND_MS = 60_000
SILENCE_MS = (START_MS + 47 * 60_000, START_MS + 54 * 60_000)  # nothing is sampled: longer than the look-back
LATE_MS = 20 * 60_000  # most lateness; below Prometheus' out_of_order_time_window
LE = ["0.1", "0.25", "0.5", "1", "2.5", "+Inf"]
# g_fast, so that narrow panes of it are clean; native histograms, as late ones take another way in Prometheus.
IN_ORDER = ["g_fast", "n_counter", "n_gauge", "n_custom", "n_mixed"]
ODD_VALUES = ["line\nbreak", 'quote"d', "back\\slash", "größe", "名前", "🦀 crab", " space ", "{brace}", "a,b", "x=~y"]


class Series:
    def __init__(self, labels, samples):
        self.labels = labels
        self.samples = [(t, v) for t, v in samples if not SILENCE_MS[0] < t <= SILENCE_MS[1]]


def regular(interval_ms, phase_ms=0, first_ms=START_MS, last_ms=END_MS):
    return range(first_ms + phase_ms, last_ms + 1, interval_ms)


def irregular(draw):
    t = START_MS + draw.randrange(30_000)
    while t <= END_MS:
        yield t
        t += draw.choice([1, 250, 1000, 4999, 5000, 5001, 15_000, 40_000, 90_000, draw.randrange(1, 60_000)])


def counter(draw, times, step=lambda draw: draw.randrange(0, 50), reset=0.02):
    value = float(draw.randrange(0, 1000))
    for t in times:
        value = float(draw.randrange(0, 3)) if draw.random() < reset else value + step(draw)
        yield t, value


def gauge(draw, times, centre=50, width=20, decimals=3):
    value = centre
    for t in times:
        value += (centre - value) * 0.1 + draw.uniform(-width, width) / 4
        yield t, round(value, decimals)


def gaps(draw, samples, chance=0.01):
    """Drops runs of samples; a run longer than five minutes now and then."""
    skip = 0
    for t, v in samples:
        if skip == 0 and draw.random() < chance:
            skip = draw.choice([1, 3, 10, 30])
        if skip:
            skip -= 1
        else:
            yield t, v


def stale_marks(draw, samples, chance=0.02):
    for t, v in samples:
        yield t, STALE if draw.random() < chance else v


def churn(draw, samples):
    """A life that begins and ends within the span, closed by a marker half of the time."""
    kept = list(samples)
    a, b = sorted(draw.sample(range(len(kept)), 2))
    kept = kept[a:b + 1]
    if draw.random() < 0.5:
        kept[-1] = (kept[-1][0], STALE)
    return kept


def specials(draw, samples):
    for t, v in samples:
        yield t, draw.choice([math.nan, math.inf, -math.inf, 0.0, -0.0]) if draw.random() < 0.1 else v


def histograms(draw, times, labels):
    counts, total = [0] * len(LE), 0.0
    rows = [[] for _ in LE]
    sums = []
    for t in times:
        if draw.random() < 0.01:
            counts, total = [0] * len(LE), 0.0
        for _ in range(draw.randrange(0, 8)):
            x = draw.choice([0.05, 0.2, 0.3, 0.7, 1.5, 2.25, 9.0])
            total += x
            for i, bound in enumerate(LE):
                counts[i] += x <= float(bound)
        for i in range(len(LE)):
            rows[i].append((t, float(counts[i])))
        sums.append((t, total))
    for i, bound in enumerate(LE):
        yield Series({"__name__": "h_bucket", "le": bound, **labels}, rows[i])
    yield Series({"__name__": "h_sum", **labels}, sums)
    yield Series({"__name__": "h_count", **labels}, rows[-1])


def natives(draw, times, schema=0, custom=None, gauge=False, floats=False):
    """Native histograms that have every bucket from the start, and start again high: Prometheus' storage adds empty buckets to
    samples whose neighbours have more, and Prometheus since 3.6 extrapolates no counter below zero."""
    def fresh():
        return [draw.randrange(500, 900) for _ in range(size)]

    size = len(custom) + 1 if custom else 9
    counts, total = fresh(), 1000.0
    for t in times:
        if draw.random() < (0.5 if gauge else 0.02):
            counts, total = fresh(), float(draw.randrange(900, 2000))
        for i in range(size):
            counts[i] += draw.randrange(0, 4)
        total = round(total + draw.uniform(0, 20), 3)
        h = [float(n) for n in counts] if floats else list(counts)
        value = {"count": sum(h), "sum": total, "hint": 3 if gauge else 0}
        if custom:
            value.update(schema=-53, custom=custom, positive=([(0, size)], h))
        else:
            value.update(schema=schema, zero=(0.001, h[0]), negative=([(-1, 3)], h[1:4]), positive=([(-3, 2), (1, 3)], h[4:]))
        yield t, value


def dataset(seed):
    draw = random.Random(f"data {seed}")
    out = []

    def add(name, samples, **labels):
        out.append(Series({"__name__": name, **labels}, samples))

    for job in ("api", "web", "db"):
        for instance in ("i0", "i1", "i2"):
            phase = draw.choice([0, 0, 0, 1, 500, 7321, 14_999])
            place = {"job": job, "instance": instance}
            for code in ("200", "404", "500"):
                add("c_total", gaps(draw, counter(draw, regular(15_000, phase))), code=code, **place)
            add("c_float_total", counter(draw, regular(15_000), lambda d: round(d.expovariate(1), 3)), **place)
            zone = {"zone": draw.choice(["eu", "us"])} if instance != "i0" else {}
            add("g", gauge(draw, regular(10_000, phase % 10_000)), **place, **zone)
            add("g_negative", gauge(draw, regular(15_000), -10, 60), **place)
            add("up", ((t, float(draw.random() > 0.1)) for t in regular(15_000, phase)), **place)
            add("target_info", ((t, 1.0) for t in regular(15_000)), version=f"v{len(out) % 3}", **place)
            out.extend(histograms(draw, regular(15_000, phase), place))
        add("g_large", gauge(draw, regular(20_000), 1e15, 1e14, 0), job=job)
        add("g_tiny", ((t, v * 1e-290) for t, v in gauge(draw, regular(20_000), 5, 3)), job=job)
        add("c_irregular_total", counter(draw, irregular(draw), reset=0.05), job=job)
        add("g_irregular", gauge(draw, irregular(draw)), job=job)
        add("g_special", specials(draw, gauge(draw, regular(15_000), 0, 30)), job=job)
        add("g_steps", ((t, float(draw.randrange(-2, 3))) for t in regular(5_000)), job=job)
        add("g_fast", gauge(draw, regular(1_000), 5, 2, 2), job=job)
        add("g_stale", stale_marks(draw, gauge(draw, regular(15_000))), job=job)
        add("c_stale_total", stale_marks(draw, counter(draw, regular(15_000))), job=job)
        for pod in range(8):
            add("g_churn", churn(draw, gauge(draw, regular(15_000, pod * 1000))), job=job, pod=f"p{pod}")
            add("c_churn_total", churn(draw, counter(draw, regular(15_000, pod * 1000))), job=job, pod=f"p{pod}")
    for n, job in enumerate(("api", "web", "db")):
        for instance in ("i0", "i1"):
            place = {"job": job, "instance": instance}
            add("n_counter", gaps(draw, natives(draw, regular(15_000), schema=n, floats=instance == "i1")), **place)
            add("n_gauge", natives(draw, regular(15_000), schema=1, gauge=True), **place)
        add("n_custom", natives(draw, regular(15_000), custom=[0.1, 0.5, 2.5]), job=job)
        add("n_mixed", ((t, float(len(out)) if draw.random() < 0.1 else v) for t, v in natives(draw, regular(15_000))), job=job)
    for value in ODD_VALUES:
        add("g_odd", gauge(draw, regular(30_000)), value=value, job="api")
    add("g_odd", gauge(draw, regular(30_000)))
    add("g_wide", gauge(draw, regular(60_000)), job="api", **{f"l{i:02}": f"v{i % 3}" for i in range(28)})
    add("single", [(START_MS + 30 * 60_000, 42.0)])
    add("constant", ((t, 3.0) for t in regular(15_000)), job="api")
    return out


def rounds(seed, series, late=0.01, again=0.02):
    """Yields [(labels, samples)] round by round; each round's samples of one series are in order of time."""
    draw = random.Random(f"rounds {seed}")
    # Markers are never late: Prometheus drops those.
    pending = {}
    for n in range(SPAN_MS // ROUND_MS + 1 + LATE_MS // ROUND_MS):
        upto = START_MS + n * ROUND_MS
        batch = []
        for at, s in enumerate(series):
            new = [x for x in s.samples if upto - ROUND_MS < x[0] <= upto]
            now = []
            for x in new:
                if x[1] == x[1] and draw.random() < late and s.labels["__name__"] not in IN_ORDER:
                    pending.setdefault(n + draw.randrange(1, LATE_MS // ROUND_MS), []).append((at, x))
                else:
                    now.append(x)
            if now:
                batch.append((s.labels, now))
            if now and draw.random() < again:
                batch.append((s.labels, now))
        for at, x in pending.pop(n, []):
            batch.append((series[at].labels, [x]))
        yield batch
