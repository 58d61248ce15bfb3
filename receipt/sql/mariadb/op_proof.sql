-- The last statement of the transaction that records an answer and its effect: proves that it is still the same one.
UPDATE waybill_operation SET token = ? WHERE scope = ? AND k = ? AND token = ?
