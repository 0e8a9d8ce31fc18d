// Signs in to PostgreSQL as the environment says: `DATABASE_URL`, or `PGPASSWORD` and its kin.
import pg from 'pg'

const { DATABASE_URL } = process.env
const pool = new pg.Pool(DATABASE_URL ? { connectionString: DATABASE_URL } : {})
const { rows } = await pool.query('select $1::int + 1 as sum, now() as at', [41])
console.log(rows[0].sum, rows[0].at.toISOString())
const again = await Promise.all([1, 2, 3].map((n) => pool.query('select $1::text as n', [n])))
console.log(again.map((result) => result.rows[0].n).join(' '))
await pool.end()
