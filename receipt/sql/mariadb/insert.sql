-- Enters a receipt, or changes nothing. Rows affected do not tell which: a driver may count found rows.
INSERT INTO waybill_receipt (scope, k, fp, token, job, born) VALUES (?, ?, ?, ?, ?, ?) ON DUPLICATE KEY UPDATE k = k
