import type { DeliveryEvent, RequestEvent } from '@retake/tape/format'
import { expect, test } from 'vitest'
import { AnswerOrder } from './answer-order.js'
import { ClientProcess } from './client-process.js'
import type { TapedExchange } from './taped-exchanges.js'

/** An exchange with its request at `seq` and parts of its answer at the others, 1 ms apart. */
function exchange(seq: number, ...parts: number[]): TapedExchange {
  const request = { type: 'request', seq, at: seq } as RequestEvent
  const deliver = (at: number) =>
    ({ type: 'deliver', part: 'chunk', op: seq, seq: at, at }) as DeliveryEvent
  return { request, parts: parts.map(deliver) }
}

/** Sends every part of an exchange as soon as it is its turn. */
async function send(order: AnswerOrder, taped: TapedExchange, sent: number[]): Promise<void> {
  order.begin(taped)
  for (const [index, part] of taped.parts.entries()) {
    await order.turn(taped, index)
    sent.push(part.seq)
  }
  order.done(taped)
}

test('parts of concurrent answers are sent in the order of the tape', async () => {
  const exchanges = [exchange(1, 5, 8), exchange(2, 4, 6), exchange(3, 7, 9)]
  const order = new AnswerOrder(exchanges, new ClientProcess())
  const sent: number[] = []
  // The last request comes first, and none is answered before all have arrived.
  await Promise.all(exchanges.toReversed().map((each) => send(order, each, sent)))
  expect(sent).toEqual([4, 5, 6, 7, 8, 9])
})

test('a missing request delays the others only for a while', async () => {
  const exchanges = [exchange(1, 4), exchange(2, 3), exchange(5, 6)]
  const order = new AnswerOrder(exchanges, new ClientProcess())
  const sent: number[] = []
  const started = performance.now()
  await send(order, exchanges[0] ?? exchange(0), sent)
  expect(sent).toEqual([4])
  expect(performance.now() - started).toBeGreaterThan(900)
})

test('requests that did not overlap in the recording never wait for each other', async () => {
  const exchanges = [exchange(1, 2), exchange(3, 4), exchange(5, 6)]
  const order = new AnswerOrder(exchanges, new ClientProcess())
  const sent: number[] = []
  const started = performance.now()
  for (const each of exchanges.toReversed()) await send(order, each, sent)
  expect(sent).toEqual([6, 4, 2])
  expect(performance.now() - started).toBeLessThan(900)
})

test('a client that does not read or has disconnected does not delay others', async () => {
  const [slow, gone, other] = [exchange(1, 4, 8), exchange(2, 5, 9), exchange(3, 6, 10)]
  const order = new AnswerOrder([slow, gone, other], new ClientProcess())
  for (const each of [slow, gone, other]) order.begin(each)
  await order.turn(slow, 0)
  order.pass(slow)
  order.done(gone)
  await order.turn(other, 0)
  await expect(order.turn(other, 1)).resolves.toBeUndefined()
})

test('once the program diverges, answers are sent as they come', async () => {
  const exchanges = [exchange(1, 4), exchange(2, 3)]
  const order = new AnswerOrder(exchanges, new ClientProcess())
  const sent: number[] = []
  const sending = send(order, exchanges[0] ?? exchange(0), sent)
  order.off()
  await sending
  expect(sent).toEqual([4])
})
