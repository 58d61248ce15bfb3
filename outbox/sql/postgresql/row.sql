($1::text, $2::text, $3::text, $4::bytea, $5::bytea, greatest(NOW_MS + $6::bigint, $7::bigint), NOW_MS)
