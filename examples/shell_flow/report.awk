# {"sum": [120.5, 80], "rate": 0.92, "verify": true} becomes a line of text; a step that was skipped is not there.
{
  text = text $0
}
END {
  match(text, /\[[^]]*\]/)
  count = split(substr(text, RSTART + 1, RLENGTH - 2), sums, ",")
  for (i = 1; i <= count; i++) dollars += sums[i]
  match(text, /"rate": *[0-9.]+/)
  rate = substr(text, RSTART, RLENGTH)
  sub(/.*: */, "", rate)
  printf "\"%.2f EUR from %d files, %s\"\n", dollars * rate, count, text ~ /"verify"/ ? "verified" : "NOT VERIFIED"
}
