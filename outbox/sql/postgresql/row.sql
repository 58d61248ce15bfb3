-- One reading of the clock for both times: clock_timestamp() goes on within a statement.
($1::text, $2::text, $3::text, $4::bytea, $5::bytea, greatest((extract(epoch FROM statement_timestamp()) * 1000)::bigint + $6::bigint, $7::bigint), (extract(epoch FROM statement_timestamp()) * 1000)::bigint)
