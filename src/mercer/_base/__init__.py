"""What every folder uses: arrays, linear algebra, loops, threads, memory, progress and files."""
