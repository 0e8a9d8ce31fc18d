// An agent on the WebSocket of Node, or of undici where Node has none.
const { WebSocket } = globalThis.WebSocket ? globalThis : await import('undici')

const url = `${process.env.AGENT_BASE_URL.replace('http', 'ws')}/ws`
let line = 0
const log = (...words) => console.log(line++, Date.now(), ...words)

async function talk(name) {
  const socket = new WebSocket(`${url}?pushes=2&name=${name}`)
  const words = ['one', 'ü'.repeat(100), 'a long one '.repeat(100)]
  let left = 2 + words.length
  socket.addEventListener('open', () => {
    for (const word of words) socket.send(word)
  })
  socket.addEventListener('message', ({ data }) => {
    log(name, data.slice(0, 60))
    if (--left === 0) socket.close(1000, 'bye')
  })
  await new Promise((resolve) => socket.addEventListener('close', resolve))
  log(name, 'closed')
}

await talk('alone')
await Promise.all([talk('left'), talk('right')])
