-- Time limits; and plans that are right where a queue has a million rows, also before the table was analyzed: by index, in order.
SELECT set_config('lock_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $2, true),
  set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)
