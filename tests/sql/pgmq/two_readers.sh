# Two readers at once never get one message, and neither waits for the other.
. "$(dirname "$0")/../../support/sql_sessions.bash"
sql -c "select pgmq.create('work'), pgmq.send_batch('work', array['1', '2', '3']::jsonb[])" >/dev/null

# The first reader keeps its transaction open while the second reads.
coproc first { psql -XAtq 2>&1; }
first_pid=$first_PID answers=${first[0]} orders=${first[1]}
echo "begin; select string_agg(msg_id::text, ',' order by msg_id) from pgmq.read('work', 30, 2);" >&"$orders"
read -rt 30 -u "$answers" mine
equal 'the first reader gets the smallest ids' 1,2 "$mine"
equal 'the second gets the rest at once' 3 \
  "$(sql -c "set lock_timeout = '1ms'" -c "select string_agg(msg_id::text, ',') from pgmq.read('work', 30, 3)")"
echo 'commit; \q' >&"$orders"
wait "$first_pid" || true
