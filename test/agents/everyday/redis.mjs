import { Redis } from 'ioredis'
import { ask } from './model.mjs'

const redis = new Redis(process.env.REDIS_URL)
const listener = redis.duplicate()
const heard = new Promise((resolve) => listener.on('message', (_, text) => resolve(text)))
await listener.subscribe('answers')
console.log(await redis.incr('runs'), await redis.time())
const results = await redis
  .pipeline()
  .set('answer', await ask('hello'))
  .get('answer')
  .exec()
console.log(results)
await redis.publish('answers', 'done')
console.log(await heard)
await Promise.all([redis.quit(), listener.quit()])
