import Database from 'better-sqlite3'
import { ask } from './model.mjs'

const database = new Database('shop.db')
database.exec('create table if not exists orders (id integer primary key, item text)')
const insert = database.prepare('insert into orders (item) values (?)')
const insertAll = database.transaction((items) => items.map((item) => insert.run(item)))
console.log(insertAll(['lamp', await ask('item')]))
for (const row of database.prepare('select *, abs(random()) % 1000 as r from orders').iterate())
  console.log(row)
try {
  database.prepare('select * from missing')
} catch (error) {
  console.log(error.code, error.message)
}
database.close()
