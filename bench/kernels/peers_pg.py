#!/usr/bin/env python3
"""PostgreSQL's t-digest extension and its exact percentiles, as a peer of the kernels' bench (protocol: peer_process.c).

A cluster of its own in a temporary directory, on a socket there, ends with this program. A run is one query's execution
time, as EXPLAIN ANALYZE has it or in processor time if that is less, less the least time so far of the same query with a plain sum in the place of the
aggregate: what reading and grouping the rows costs is not the sketch's.
"""
import glob
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

SERIES, PANES, PANE_N = 100, 30, 200

SETUP = f"""
create extension tdigest;
set work_mem = '512MB';
create table samples as
  select s as series, p as pane, exp(3 + sqrt(-2 * ln(1 - random())) * cos(6.283185307179586 * random())) as v
  from generate_series(1, {SERIES}) s, generate_series(1, {PANES}) p, generate_series(1, {PANE_N});
create table panes as select series, pane, tdigest(v, 100) as d from samples group by series, pane;
vacuum analyze samples;
vacuum analyze panes;
"""

# what, unit, items, our job, query, the same query with a sum
JOBS = (
    ("PostgreSQL tdigest(v, 100), 6000 values a series", "ns/item", SERIES * PANES * PANE_N,
     "KLL build n = 12000, k = 200",
     "select series, tdigest(v, 100) from samples group by series",
     "select series, sum(v) from samples group by series"),
    ("PostgreSQL tdigest p99 of 30 stored digests of 200", "us", SERIES, "quantile 0.99 of 30 x 200 frames",
     "select series, tdigest_percentile(d, 0.99) from panes group by series",
     "select series, sum(tdigest_count(d)) from panes group by series"),
    ("PostgreSQL percentile_cont(0.99) of 6000 values", "us", SERIES, "quantile 0.99 of 30 x 200 packed",
     "select series, percentile_cont(0.99) within group (order by v) from samples group by series",
     "select series, sum(v) from samples group by series"),
)


def skip(why):
    print(f"skipped\t{why}", flush=True)
    print("ready", flush=True)
    sys.stdin.read()
    sys.exit(0)


def find():
    """The directory of the newest server's programs that has the extension."""
    for control in sorted(glob.glob("/usr/share/postgresql/*/extension/tdigest.control"), reverse=True):
        programs = f"/usr/lib/postgresql/{control.split('/')[4]}/bin"
        if os.path.exists(f"{programs}/initdb"):
            return programs
    return None


class Cluster:
    def __init__(self, programs):
        self.programs = programs
        self.dir = tempfile.mkdtemp(prefix="mullion-bench-pg-")
        self.user = {}
        if os.getuid() == 0:  # the server refuses root
            owner = pwd.getpwnam("postgres")
            os.chown(self.dir, owner.pw_uid, owner.pw_gid)
            self.user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
        self.psql = None
        self.server = None
        self.backend = None

    def run(self, program, *args, **more):
        return subprocess.run([f"{self.programs}/{program}", *args], cwd=self.dir, check=True, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **self.user, **more)

    def start(self):
        data = f"{self.dir}/data"
        self.run("initdb", "-D", data, "-A", "trust", "-U", "bench", "-N")
        self.run("pg_ctl", "-D", data, "-w", "-l", f"{self.dir}/log", "-o",
                 f"-k {self.dir} -c listen_addresses= -c fsync=off -c jit=off -c max_parallel_workers_per_gather=0 "
                 "-c shared_buffers=256MB -c work_mem=512MB", "start")
        self.server = data
        self.psql = subprocess.Popen(
            [f"{self.programs}/psql", "-h", self.dir, "-U", "bench", "-d", "postgres", "-qAtX", "-v", "ON_ERROR_STOP=1"],
            cwd=self.dir, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **self.user)

    def ask(self, text):
        """Lines of the answer."""
        self.psql.stdin.write(text + "\n\\echo end of answer\n")
        self.psql.stdin.flush()
        lines = []
        for line in self.psql.stdout:
            if line == "end of answer\n":
                return lines
            lines.append(line)
        raise RuntimeError(self.psql.stderr.read())

    def cpu_ms(self):
        """The backend's processor time, where the kernel tells."""
        try:
            with open(f"/proc/{self.backend}/schedstat") as f:
                return int(f.read().split()[0]) / 1e6
        except (OSError, ValueError, IndexError):
            return None

    def execution_ms(self, query):
        cpu = self.cpu_ms()
        for line in self.ask(f"explain (analyze, timing off) {query};"):
            if line.startswith("Execution Time:"):
                took, end = float(line.split()[2]), self.cpu_ms()
                # Other programs may have had the processor meanwhile.
                return took if cpu is None or end is None or end <= cpu else min(took, end - cpu)
        raise RuntimeError(f"no time for {query}")

    def stop(self):
        if self.psql:
            self.psql.stdin.close()
            self.psql.wait()
        if self.server:
            self.run("pg_ctl", "-D", self.server, "-m", "immediate", "stop")
        shutil.rmtree(self.dir, ignore_errors=True)


def main():
    programs = find()
    if not programs:
        skip("postgresql-15-tdigest is not installed")
    cluster = Cluster(programs)
    try:
        try:
            cluster.start()
            cluster.ask(SETUP)
            cluster.backend = int(cluster.ask("select pg_backend_pid();")[0])
        except (OSError, subprocess.CalledProcessError, RuntimeError, KeyError) as e:
            why = getattr(e, "stderr", None) or str(e)
            skip("PostgreSQL did not start: " + " ".join(why.split())[:200])
        for name, unit, items, ours, _, _ in JOBS:
            print(f"job\t{name}\t{unit}\t{items}\t{ours}")
        print("ready", flush=True)
        least = {}
        for line in sys.stdin:
            query, plain = JOBS[int(line)][4:]
            least[plain] = min(least.get(plain, float("inf")), cluster.execution_ms(plain))
            print((cluster.execution_ms(query) - least[plain]) * 1e6, flush=True)
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
