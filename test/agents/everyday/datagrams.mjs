import { createSocket } from 'node:dgram'
import { ask } from './model.mjs'

const socket = createSocket('udp4')
socket.send('metric:1|c', 8125, '127.0.0.1', () => socket.close())
console.log(await ask('hello'))
