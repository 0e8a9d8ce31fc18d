import { ask } from './model.mjs'

process.loadEnvFile?.('shop.env')
console.log(process.env.SHOP_NAME, process.env.TZ, 'HOME' in process.env, new Date(0).getHours())
console.log(await ask(Object.keys(process.env).sort().join(' ')))
