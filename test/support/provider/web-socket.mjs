import { WebSocketServer } from 'ws'

/**
 * A WebSocket endpoint at `/ws`: greets, pushes `?pushes=5` messages with
 * random gaps, and echoes text and binary after a random time.
 *
 * @param {object} options
 * @param {import('node:http').Server} options.server
 * @param {import('./dice.mjs').Dice} options.dice
 * @param {number} options.maxLatencyMs
 * @param {(url: string) => void} options.onConnection
 */
export function serveWebSocket({ server, dice, maxLatencyMs, onConnection }) {
  const sockets = new WebSocketServer({ server, path: '/ws' })
  sockets.on('connection', async (socket, request) => {
    onConnection(request.url ?? '/ws')
    const send = (data) => {
      if (socket.readyState === socket.OPEN) socket.send(data)
    }
    socket.on('error', () => {})
    socket.on('message', async (/** @type {Buffer} */ data, isBinary) => {
      await dice.pause(maxLatencyMs)
      send(isBinary ? data : JSON.stringify({ echo: data.toString(), random: dice.roll() }))
    })
    send(JSON.stringify({ hello: dice.id('session_') }))
    const pushes = Number(
      new URL(request.url ?? '/', 'http://local').searchParams.get('pushes') ?? 5,
    )
    for (let index = 0; index < pushes && socket.readyState === socket.OPEN; index++) {
      await dice.pause(maxLatencyMs)
      send(JSON.stringify({ push: index, random: dice.roll(), text: 'über ☃' }))
    }
  })
  return sockets
}
