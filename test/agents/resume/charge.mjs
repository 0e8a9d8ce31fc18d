/** A client of a line protocol that connects again and repeats its command, as clients of Redis do. */
import net from 'node:net'

let connection
async function send(line) {
  for (;;) {
    connection ??= net.connect(Number(process.env.CHARGE_PORT), '127.0.0.1')
    const socket = connection
    const answer = await new Promise((resolve) => {
      socket.once('data', (data) => resolve(String(data)))
      socket.once('error', ({ code }) => resolve(code))
      socket.write(`${line}\n`)
    })
    if (answer !== 'ECONNRESET') return answer
    connection = undefined
  }
}

console.log(await send('balance'))
console.log(await send(`charge ${process.pid}`))
connection.destroy()
