import { startViewer } from './app.js'
import { connectServer } from './sources/server-home.js'

startViewer(connectServer())
