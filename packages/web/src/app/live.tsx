import { startViewer } from './app.js'
import { connectServer } from './sources/server-backend.js'

startViewer(connectServer())
