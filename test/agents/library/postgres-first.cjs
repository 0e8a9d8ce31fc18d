// Requires `pg` before Retake, as a CommonJS server might, and says as JSON whether a query of
// a shared pool replays without a connection.
const { Pool } = require('pg')

const { connection, dir } = JSON.parse(process.argv[2])
const pool = new Pool(connection)
const dead = new Pool({ host: '127.0.0.1', port: 1 })
const agent = async (database) =>
  (await database.query('select gen_random_uuid() as id')).rows[0].id

const main = async () => {
  const { record, replay, openTape, readRun } = await import('retake')
  const { output, run } = await record({ name: 'first', dir }, () => agent(pool))
  const replayed = await replay(run.path, () => agent(dead))
  await pool.end()
  const { steps } = readRun(openTape(run.path))
  console.log(JSON.stringify({ isSame: replayed.output === output, steps: steps.length }))
}
void main()
