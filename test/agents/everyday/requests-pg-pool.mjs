// One pool for all requests, as servers have it.
import 'retake'
import { once } from 'node:events'
import { createServer } from 'node:http'
import pg from 'pg'
import { ask } from './model.mjs'
import { handled, main } from './requests.mjs'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 2 })

const agent = async (question) => {
  const { rows } = await pool.query(
    'insert into questions (text) values ($1) returning text, gen_random_uuid() as id',
    [question],
  )
  const client = await pool.connect()
  try {
    const { rowCount } = await client.query('select * from questions where text = $1', [question])
    return `${rows[0].id} ${rowCount} ${await ask(rows[0].text)}`
  } finally {
    client.release()
  }
}

await main(agent, async () => {
  await pool.query('create table questions (id serial, text text)')
  const server = createServer(async (request, response) => {
    response.end(await handled(agent, new URL(request.url, 'http://host').searchParams.get('q')))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.close()
    await pool.end()
  }
  return { url: `http://127.0.0.1:${server.address().port}`, close }
})
