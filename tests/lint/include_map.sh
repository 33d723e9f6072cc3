#!/usr/bin/env bash
# Checks every #include of the tree against include_map.txt: a room uses only the rooms that its line names.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."

git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' ':!tests' |
  xargs -r grep -nHE '^ *# *include' |
  awk -v map="$here/include_map.txt" '
    function room_of(path, part) {
      if (path ~ /^(common|worker)\/include\//) return "public"
      split(path, part, "/")
      return part[1] == "common" ? part[2] : part[1]
    }
    BEGIN {
      while ((getline line < map) > 0) {
        if (line ~ /^#/ || line !~ /:/) continue
        room = substr(line, 1, index(line, ":") - 1)
        known[room] = 1
        n = split(substr(line, index(line, ":") + 1), words, " ")
        for (i = 1; i <= n; i++) allowed[room, words[i]] = 1
      }
      # Libraries that only their own room may see; everything else in <…> is the standard library, POSIX or fmt.
      libraries = "^<(pgflow/|rapidjson/|openssl/|spdlog/|uv\\.h|libpq-fe\\.h|CLI/|curl/|microhttpd\\.h)"
    }
    {
      split($0, field, ":")
      file = field[1]
      room = room_of(file)
      text = $0
      sub(/^[^#]*# *include */, "", text)
      if (!(room in known)) { print file ":" field[2] ": room \"" room "\" is not in tests/lint/include_map.txt"; bad = 1; next }
      if (room == "public" && text ~ /^</ && text !~ /^<(pgflow\/[a-z_\/]+\.hpp|[a-z_]+)>/) {
        print file ":" field[2] ": a public header includes the standard library only, not " text
        bad = 1
        next
      }
      if (text ~ /^</) {
        if (text !~ libraries) next
        match(text, /^<[^\/>]*[\/>]/)
        word = substr(text, 1, RLENGTH)
        whole = text
        sub(/>.*/, ">", whole)
        if (room == "public" && word == "<pgflow/") next
        if ((room, word) in allowed || (room, whole) in allowed || (room, word ">") in allowed) next
      } else {
        word = text
        sub(/^"/, "", word)
        sub(/".*/, "", word)
        if (word !~ /\//) next  # a neighbour in the same folder
        split(word, part, "/")
        word = part[1]
        if (word == room || (room, word) in allowed) next
        if (room == "supervisor" && word == "commands") next
        if (room == "public" && word == "detail") next
      }
      print file ":" field[2] ": " room "/ may not include " text
      bad = 1
    }
    END { if (bad) print "hint: CONTRIBUTING.md, \"which room?\", says where a line belongs; the map is tests/lint/include_map.txt"; exit bad }
  '
