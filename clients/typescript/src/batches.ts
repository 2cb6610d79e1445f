/** Batches: any number of entries become requests of an accepted size, one in memory at a time. */

/** How large a body grows before another is begun, in UTF-16 units: a quarter of what the service takes by default. */
export const MAX_BODY_LENGTH = 8 * 1024 * 1024;

export type Entries<Entry> = Iterable<Entry> | AsyncIterable<Entry>;

/** Yield JSON arrays of up to `most` entries with the entries that they hold; at least one array, empty. */
export async function* batches<Entry>(
  entries: Entries<Entry>,
  most: number,
): AsyncGenerator<{ body: string; batch: readonly Entry[] }> {
  let texts: string[] = [];
  let batch: Entry[] = [];
  let length = 0;
  let isFirst = true;
  for await (const entry of entries) {
    const text = JSON.stringify(entry);
    if (batch.length === most || (batch.length > 0 && length + text.length > MAX_BODY_LENGTH)) {
      yield { body: `[${texts.join(",")}]`, batch };
      [texts, batch, length, isFirst] = [[], [], 0, false];
    }
    texts.push(text);
    batch.push(entry);
    length += text.length + 1;
  }
  if (batch.length > 0 || isFirst) yield { body: `[${texts.join(",")}]`, batch };
}

/** Add the numbers of two receipts and keep everything else of the later one. */
export function addReceipts<Receipt extends object>(total: Receipt | null, later: Receipt, summed: readonly (keyof Receipt)[]): Receipt {
  if (total === null) return later;
  const there = summed.filter((name) => name in total || name in later);
  const sums = Object.fromEntries(there.map((name) => [name, Number(total[name] ?? 0) + Number(later[name] ?? 0)]));
  return { ...later, ...sums };
}
