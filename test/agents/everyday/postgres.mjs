import pg from 'pg'
import { ask } from './model.mjs'

const client = new pg.Client({ connectionString: process.env.DATABASE_URL })
await client.connect()
await client.query(
  'create table orders (id serial primary key, item text, at timestamptz default now())',
)
await client.query('begin')
await client.query('insert into orders (item) values ($1), ($2)', ['lamp', await ask('item')])
await client.query('commit')
const { rows } = await client.query('select id, item, at from orders order by id')
for (const { id, item, at } of rows) console.log(id, item, at.toISOString())
await client.query('select * from missing').catch((error) => console.log(error.code, error.message))
await client.end()
