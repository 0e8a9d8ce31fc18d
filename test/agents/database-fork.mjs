// Uses connections before and after a decision, at which tests fork.
import { readFileSync } from 'node:fs'
import net from 'node:net'
import pg from 'pg'
import { tool } from 'retake'

const decide = tool('decide', () => 'recorded')
const [way, port] = process.argv.slice(2)

if (way === 'lines') {
  // A pool of one connection, for a protocol that only the agent knows.
  let idle
  const ask = async (line) => {
    const socket = idle ?? net.connect(Number(port), '127.0.0.1')
    if (idle === undefined) socket.once('end', () => (idle = undefined))
    idle = socket
    socket.write(`#${line}\n`)
    return new Promise((resolve, reject) => {
      socket.once('error', reject)
      socket.once('data', (answer) => resolve(String(answer)))
    })
  }
  console.log(await ask('one'))
  const what = await decide()
  console.log(await ask(what))
  idle.destroy()
} else {
  const database = new (way === 'pool' ? pg.Pool : pg.Client)({
    connectionString: process.env.DATABASE_URL,
  })
  database.on('error', () => {})
  if (way !== 'pool') await database.connect()
  await database.query("set application_name to 'forked'")
  if (way === 'transaction') await database.query('begin')
  const insert = { name: 'insert', text: 'insert into decisions values ($1, $2)' }
  await database.query({ ...insert, values: [way, 'first'] })
  const what = way === 'file' ? readFileSync('decision.txt', 'utf8') : await decide()
  try {
    await database.query({ ...insert, values: [way, what] })
    const { rows } = await database.query("select current_setting('application_name') as name")
    console.log(what, rows[0].name)
  } catch (error) {
    console.log(error.message)
  }
  await database.end()
}
