"""Pane blocks of a stopped data directory, through the pane_dump tool."""
import subprocess


class Panes:
    """blocks: {(view identity, window end ms, metric, shard): (states, width ms, hash)}; bad: sentences on damage."""

    def __init__(self, tool, directory):
        done = subprocess.run([tool, directory], capture_output=True, text=True)
        self.blocks, self.bad, self.sealed_to = {}, [], {}
        for line in done.stdout.splitlines():
            kind, *fields = line.split(" ")
            if kind == "block":
                identity, end, metric, shard, states, width, digest = fields
                self.blocks[identity, int(end), int(metric), int(shard)] = (int(states), int(width), digest)
            elif kind == "view":
                self.sealed_to[fields[0]] = int(fields[2])
            elif kind == "bad":
                self.bad.append(line[4:])
        if done.returncode and not self.bad:
            self.bad.append(done.stderr.strip() or f"pane_dump ended with {done.returncode}")

    def windows(self, identity):
        return sorted({key[1] for key in self.blocks if key[0] == identity})

    def states(self):
        return sum(block[0] for block in self.blocks.values())
