"""What a job writes, a folder in full or not at all: releases, safe files, trade-offs, comparisons."""
