// A whole program with its own Redis client.
import { Redis } from 'ioredis'

const redis = new Redis(process.env.REDIS_URL)
console.log(await redis.time())
await redis.quit()
