import { DatabaseSync } from 'node:sqlite'
import { ask } from './model.mjs'

const database = new DatabaseSync('shop.db')
database.exec('create table if not exists orders (id integer primary key, item text)')
const insert = database.prepare('insert into orders (item) values (?)')
console.log(insert.run('lamp'), insert.run(await ask('item')))
console.log(database.prepare('select *, abs(random()) % 1000 as r from orders').all())
database.close()
