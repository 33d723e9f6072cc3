#!/bin/sh
# Are the files what head office sent? A changed file stays changed, so no further attempt can help.
cd "$(tr -d '"')" || exit 65
sha256sum --quiet -c SHA256SUMS >&2 || exit 65
echo true
