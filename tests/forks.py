"""Processes of their own that start at once: forks of one that has imported the package.

A fresh Python takes three seconds to import what a fit or the command line needs. Tests of imports
and of first uses take a fresh one; tests of what happens to a running process take a fork.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path


class Forks:
    """Start the server; `close` ends it."""

    def __init__(self):
        paths = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.server = subprocess.Popen([sys.executable, __file__], text=True, env=paths, **pipes)

    def __call__(self, code, *arguments, seconds=120):
        """Run code in this folder, as `python -c` does, and return what `subprocess.run` would."""
        with tempfile.TemporaryDirectory() as folder:
            streams = [f"{folder}/out", f"{folder}/err"]
            job = [code, list(map(str, arguments)), os.getcwd(), streams, seconds]
            print(json.dumps(job), file=self.server.stdin, flush=True)
            status = int(self.server.stdout.readline())
            out, err = (Path(stream).read_text() for stream in streams)
        return subprocess.CompletedProcess(code, status, out, err)

    def close(self):
        self.server.stdin.close()
        self.server.stdout.close()
        self.server.wait()


def begin(arguments, folder, streams, seconds):
    """Make a fork what a fresh process would be: an empty input, and outputs into two files."""
    os.chdir(folder)
    sys.argv = ["-c", *arguments]
    writing = os.O_WRONLY | os.O_CREAT
    opened = [os.open(os.devnull, os.O_RDONLY), *(os.open(path, writing) for path in streams)]
    for stream, file in enumerate(opened):
        os.dup2(file, stream)
        os.close(file)
    signal.alarm(seconds)


def serve():
    """Fork a process for each line of the input; say how it ended."""

    while line := sys.stdin.readline():
        code, *start = json.loads(line)
        child = os.fork()
        if not child:
            begin(*start)
            exec(compile(code, "<fork>", "exec"), {"__name__": "__main__"})
            return  # the fork ends as any process does
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    serve()
