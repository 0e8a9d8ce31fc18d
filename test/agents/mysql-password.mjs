/** Signs in to a MySQL server as its drivers do (`mysql_native_password`), and sends one query. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'

const sha1 = (...parts) => createHash('sha1').update(Buffer.concat(parts)).digest()
const packet = (number, payload) =>
  Buffer.concat([Buffer.from([payload.length, 0, 0, number]), payload])

const socket = net.connect(Number(process.env.DB_PORT), '127.0.0.1')
const [greeting] = await once(socket, 'data')
const once1 = sha1(Buffer.from(process.env.DB_PASSWORD))
const mask = sha1(greeting.subarray(-20), sha1(once1))
const fixed = Buffer.alloc(32)
fixed.writeUInt32LE(0x8200)
const user = Buffer.from('me\0\x14')
socket.write(packet(1, Buffer.concat([fixed, user, once1.map((byte, at) => byte ^ mask[at])])))
const [signedIn] = await once(socket, 'data')
socket.write(packet(0, Buffer.from('\x03select 42')))
const [answer] = await once(socket, 'data')
console.log(String(signedIn), String(answer))
socket.destroy()
